// From samples to the results of a trial: medians, the peer's best setting, ratios above 1 where ours is better.

export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median: rounded(median), min: rounded(sorted[0]), max: rounded(sorted.at(-1)) };
}

const rounded = (value) => Number(value.toPrecision(4));

function summaryOf({ samples }) {
  const result = summary(samples.map(({ value }) => value));
  if (samples[0].cpu !== undefined) result.cpu = summary(samples.map(({ cpu }) => cpu));
  const names = Object.keys(samples[0].details ?? {});
  if (names.length > 0) {
    const of = (name) => summary(samples.map(({ details }) => details[name]));
    result.details = Object.fromEntries(names.map((name) => [name, of(name)]));
  }
  return result;
}

/** Contestants marked `apart` are reported and reach no ratio. */
export function resultOf(trial, contestants) {
  const sign = trial.better === 'more' ? -1 : 1;
  const peers = {};
  const apart = {};
  let ours;
  for (const contestant of contestants) {
    const { peer, setting } = contestant;
    const result = summaryOf(contestant);
    if (contestant.apart) {
      apart[`${peer}: ${setting}`] = result;
    } else if (peer === 'ours') {
      ours = result;
    } else {
      const known = peers[peer] ?? { median: sign * Infinity, settings: {} };
      const settings = { ...known.settings, [setting]: result };
      const better = sign * (known.median - result.median) > 0;
      peers[peer] = better ? { ...result, best: setting, settings } : { ...known, settings };
    }
  }
  const ratio = (peer) => (sign > 0 ? peer.median / ours.median : ours.median / peer.median);
  const ratios = Object.entries(peers).map(([name, peer]) => [name, rounded(ratio(peer))]);
  const { name, unit, what, better, goals = {} } = trial;
  return {
    name,
    unit,
    what,
    better,
    ours,
    peers,
    ratios: Object.fromEntries(ratios),
    goals,
    apart,
  };
}
