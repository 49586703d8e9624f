import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/interop/*.interop.ts'],
    globalSetup: 'test/interop/setup.ts',
    pool: 'forks',
    // The Java processes want the cores for themselves.
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 60_000,
  },
});
