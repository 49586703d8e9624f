// Prints docs/errors.md, made from the codes of the built addon: node scripts/error-docs.mjs > docs/errors.md
import { failureOf } from '../dist/errors.js';
import { addon } from '../dist/native.js';

const WIDTH = 120;

const head = `# Error codes

Every error of this library has a \`code\` that does not change, a \`message\` that says what happened, and a \`hint\` that
says what to do. \`path\`, \`offset\`, \`limit\` and \`errno\` stand beside them where there are any. Test the code, not the
message: \`isStoreError(error, 'STORE_LOCKED')\`.

The set is defined in [status.h](../native/core/status.h). This page is made from it by
[error-docs.mjs](../scripts/error-docs.mjs).
`;

/** One item of a list, wrapped. */
function item(code, hint) {
  const lines = [`- \`${code}\`:`];
  for (const word of hint.split(' ')) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}

function section(title, text, codes) {
  return `\n## ${title}\n\n${text}\n\n${codes.map(([code, hint]) => item(code, hint)).join('\n')}\n`;
}

/** Whether a failure with this code is a RangeError (or TypeError) and no StoreError. */
const isArgument = ([code]) => failureOf({ code, message: '', hint: '' }) instanceof RangeError;

const { codes } = addon;
process.stdout.write(
  [
    head,
    section(
      'Mistakes in an argument',
      'A TypeError where the type is wrong, else a RangeError. Nothing has been changed.',
      codes.filter(isArgument),
    ),
    section(
      'StoreError',
      'Everything else.',
      codes.filter((row) => !isArgument(row)),
    ),
  ].join(''),
);
