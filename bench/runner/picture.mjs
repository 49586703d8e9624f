// Ratios as bars on a logarithmic axis: SVG, and the same as PNG.

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Resvg } from '@resvg/resvg-js';
import * as vega from 'vega';
import { compile } from 'vega-lite';

const fonts = join(
  dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')),
  'ttf',
);
const FONT = 'DejaVu Sans';

function specification({ machine, trials }) {
  const { cpu, cores, node, crcKernel } = machine;
  const shown = trials.filter(({ ratios }) => Object.keys(ratios).length > 0);
  return {
    background: 'white',
    padding: 12,
    title: {
      text: 'lmq-store against its peers',
      subtitle: `${cpu}, ${cores} cores, Node ${node}, CRC kernel ${crcKernel}; memcpy, read and core are floors`,
      anchor: 'start',
      offset: 12,
    },
    config: { font: FONT, axisY: { ticks: false, domain: false, labelPadding: 6 } },
    vconcat: shown.map((trial, i) => bars(trial, i === shown.length - 1)),
    spacing: 8,
    resolve: { scale: { x: 'shared', color: 'shared' } },
  };
}

/** One trial: a bar for each of its peers. */
function bars({ name, ratios }, isLast) {
  const values = Object.entries(ratios).map(([peer, ratio]) => ({
    peer,
    ratio,
    label: `${Number(ratio.toPrecision(ratio < 10 ? 2 : 3))}x`,
  }));
  const x = {
    field: 'ratio',
    type: 'quantitative',
    scale: { type: 'log', nice: false, padding: 40 },
    axis: {
      title: isLast ? 'times better than the peer (logarithmic)' : null,
      labels: isLast,
      ticks: isLast,
      domain: isLast,
      gridOpacity: 0.5,
      format: '~g',
      tickCount: 8,
    },
  };
  const side = (less, more) => ({ expr: `datum.ratio < 1 ? ${less} : ${more}` });
  return {
    title: { text: name, anchor: 'start', frame: 'group', fontSize: 12, offset: 4 },
    data: { values },
    width: 640,
    height: { step: 15 },
    view: { stroke: null },
    encoding: { x, y: { field: 'peer', type: 'nominal', sort: null, title: null } },
    layer: [
      {
        mark: { type: 'bar', height: { band: 0.85 } },
        encoding: { x2: { datum: 1 }, color: { field: 'peer', legend: null } },
      },
      {
        mark: { type: 'text', fontSize: 9, align: side("'right'", "'left'"), dx: side(-4, 4) },
        encoding: { text: { field: 'label' } },
      },
      { mark: { type: 'rule', color: '#444' }, encoding: { x: { datum: 1 }, y: null } },
    ],
  };
}

/** Writes `${base}.svg` and `${base}.png`. */
export async function draw(results, base) {
  const { spec } = compile(specification(results));
  const svg = await new vega.View(vega.parse(spec), { renderer: 'none' }).toSVG();
  writeFileSync(`${base}.svg`, svg);
  const picture = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: 2 },
    font: {
      fontFiles: ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((name) => join(fonts, name)),
      loadSystemFonts: false,
      defaultFontFamily: FONT,
    },
  });
  writeFileSync(`${base}.png`, picture.render().asPng());
}
