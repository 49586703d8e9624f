/** What people write to each other and devices report: the material of the demo's messages. */
import type { Random } from './demo-random.ts';

const lines = [
  'ok',
  'On my way, ten minutes.',
  'Did you see the photos from Saturday?',
  'Can we move the call to 15:30? The train is late again.',
  'Thanks! 🙏',
  'I put the contract in the shared folder, please look at section 4 before you sign.',
  'Who is bringing the cake? 🎂',
  'The build is green again, it was the time zone of the test machine.',
  'No worries, take your time.',
  'The plumber comes tomorrow between eight and twelve, somebody has to be at home.',
  'haha, exactly 😂',
  'Here is the address: Lindenstraße 14, third floor, the bell says Özdemir.',
  'Könntest du bitte auf dem Rückweg Brot und zwei Liter Milch mitbringen?',
  'Die Sitzung fällt aus, neuer Termin folgt.',
  'Je suis déjà là, table au fond à gauche.',
  'On se retrouve à la gare, devant le kiosque à journaux, vers dix-neuf heures.',
  'Ça marche, à demain !',
  'Llegamos sobre las nueve y media, no nos esperéis para cenar.',
  '¿Has probado a reiniciarlo?',
  '好的，明天见。',
  '会议改到下午三点，地点不变，请大家提前十分钟到。',
  '收到，谢谢！',
  '今天的快递已经放在门口的柜子里了，取件码是 4471。',
  '了解です。少し遅れます。',
  '昨日の資料、もう一度送ってもらえますか？',
  'Уже еду, буду через полчаса.',
  'Спасибо большое, всё получилось с первого раза!',
  'شكرا جزيلا، نلتقي غدا',
  'कल सुबह मिलते हैं।',
  'Let me quote the whole paragraph, because the second half matters more than the first: we agreed to ship without the export, but only if the import can read both versions.',
  'For the record: the numbers in the sheet are net, the ones on the slide are gross.',
  '```\nTypeError: Cannot read properties of undefined (reading "length")\n    at parse (feed.js:211:18)\n```',
  'Try https://example.org/docs/setup?lang=en#linux first, then call me.',
  '👍',
] as const;

/** Mostly a line or two; now and then a letter or a pasted log of several KiB. */
export function chatText(random: Random): string {
  const length = Math.min(Math.ceil((1 - random.next()) ** -0.9), 90);
  let text = `${random.pick(lines)} (${random.below(100_000)})`;
  for (let i = 1; i < length; i++) text += (i % 4 === 0 ? '\n' : ' ') + random.pick(lines);
  return text;
}

/** A telemetry report with its buffered samples, in the way of small devices. */
export function deviceReport(random: Random, device: string, at: number): string {
  const samples = Math.min(Math.ceil(2 * (1 - random.next()) ** -0.7), 120);
  let text = `{"device":"${device}","ts":${at},"battery":${random.below(101)},"rssi":${-40 - random.below(60)},"samples":[`;
  for (let i = 0; i < samples; i++) {
    const value = (18 + random.next() * 12).toFixed(2);
    text += `${i === 0 ? '' : ','}{"t":${at - 1000 * (samples - i)},"c":${value},"ok":${random.next() > 0.02}}`;
  }
  return `${text}]}`;
}
