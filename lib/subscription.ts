/** RocketMQ's subscription text: '*' for everything, or tags such as 'A || B'. */
import { textOf } from './checks.ts';
import { rangeMistake, StoreError } from './errors.ts';
import { wellFormed } from './text.ts';

const BETWEEN = '\x01';

/** RocketMQ's ExpressionType: whether an expression names tags. */
function assertTags(type: unknown): void {
  if (type === undefined || textOf(type, 'expressionType') === 'TAG') return;
  if (type === 'SQL92') {
    throw new StoreError(
      'STORE_UNSUPPORTED',
      'A read selects by tags, not by an SQL92 expression.',
    );
  }
  throw rangeMistake('STORE_INVALID_ARGUMENT', "expressionType must be 'TAG'.");
}

/** The tags joined by character 01, as native takes them; '' for all. */
export function tagFilter(expression: unknown, type?: unknown): string {
  assertTags(type);
  if (expression === undefined) return '';
  const text = wellFormed(textOf(expression, 'tags')).trim();
  if (text === '' || text === '*') return '';
  const tags = text
    .split('||')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  if (tags.length > 0 && !text.includes(BETWEEN)) return tags.join(BETWEEN);
  throw rangeMistake('STORE_INVALID_ARGUMENT', `${JSON.stringify(expression)} selects no tag.`);
}
