// Results as text: a block for each trial, then where peers win.

export function heading({ cpu, cores, load, kernel, node, crcKernel }) {
  const busy = load > cores / 4 ? ' (busy: trust no figure)' : '';
  return `${cpu}, ${cores} cores, ${kernel}, Node ${node}, CRC kernel ${crcKernel}, load ${short(load)}${busy}\n`;
}

export function block({ name, unit, what, ours, peers, ratios, goals, apart }) {
  const rows = [
    ['ours', '', value(ours, unit), '', goals.ours === undefined ? '' : `goal ${goals.ours}`],
  ];
  for (const [peer, result] of Object.entries(peers)) {
    const goal = goals[peer] === undefined ? '' : `goal ${short(goals[peer])}x`;
    rows.push([peer, `best: ${result.best}`, value(result, unit), `${short(ratios[peer])}x`, goal]);
  }
  for (const [label, result] of Object.entries(apart))
    rows.push([label, 'apart', value(result, unit), '', '']);
  for (const [label, result] of Object.entries(ours.details ?? {}))
    rows.push([`  ${label}`, '', `${short(result.median)}`, '', '']);
  return `${name}: ${what}\n${columns(rows)}\n`;
}

/** What no store can beat: the bytes moved and nothing else, or our own core. */
const floors = new Set(['memcpy', 'read', 'core']);

export function losses(trials) {
  const lost = trials.flatMap(({ name, ratios }) =>
    Object.entries(ratios)
      .filter(([peer, ratio]) => ratio < 1 && !floors.has(peer))
      .map(([peer, ratio]) => `  ${name}: ${peer}, ${short(1 / ratio)}x better than ours`),
  );
  return lost.length === 0
    ? 'No peer is ahead anywhere.'
    : `Where peers are ahead:\n${lost.join('\n')}`;
}

function columns(rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  return rows
    .map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i])).join('  ')}`.trimEnd())
    .join('\n');
}

const short = (number) => String(Number(number.toPrecision(3)));

/** Nanoseconds from a thousand on as microseconds, all figures of a result alike. */
function value({ median, min, max, cpu }, unit) {
  const micro = unit === 'ns' && median >= 1000;
  const text = (number) => short(micro ? number / 1000 : number);
  const processor = cpu && unit === 'ns' ? ` cpu ${text(cpu.median)}` : '';
  return `${text(median)} ${micro ? 'us' : unit} [${text(min)} .. ${text(max)}]${processor}`;
}
