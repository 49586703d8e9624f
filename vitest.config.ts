import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // One process a file: a store that crashes takes its own file down and no other, and the errors
    // that the addon throws are of the realm the tests compare with (they are not in vmThreads).
    pool: 'forks',
    testTimeout: 30_000,
  },
});
