// A writer that ends by SIGKILL: node abandoned.mjs DIRECTORY BYTES

import { MessageStore } from '../../dist/index.js';
import { messages } from './ours.mjs';

const [directory, bytes] = process.argv.slice(2);
const store = await MessageStore.open(directory);
const message = messages({ light: 1 });
for (let i = 0, end = 0; end < Number(bytes); i++) end = store.append(message(i)).physicalOffset;
process.kill(process.pid, 'SIGKILL');
