// Writes the CommonJS entry: require() of an ES module gives both worlds one and the same set of classes.
import { writeFileSync } from 'node:fs';

const dist = new URL('../dist/', import.meta.url);
writeFileSync(new URL('index.cjs', dist), "module.exports = require('./index.js');\n");
writeFileSync(new URL('index.d.cts', dist), "export * from './index.js';\n");
