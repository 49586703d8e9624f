/** In which order Java walks a HashMap of strings, because a broker stores properties in that order. */

/** Java's `String.hashCode`: over UTF-16 units, in 32 bits. */
export function javaHash(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(31, hash) + text.charCodeAt(i)) | 0;
  return hash;
}

/**
 * `names`, which are distinct and in the order they were put, in iteration order: by bucket, and
 * within a bucket as put. A map starts with `capacity` buckets (128 where Java parses properties, 16
 * where a map is made by hand) and doubles them beyond three quarters.
 */
export function hashMapOrder(names: readonly string[], capacity: 16 | 128 = 128): string[] {
  let buckets: number = capacity;
  while (names.length > buckets * 0.75) buckets *= 2;
  const bucketOf = (name: string) => {
    const hash = javaHash(name);
    return (hash ^ (hash >>> 16)) & (buckets - 1);
  };
  // Sorting is stable, and doubling splits a bucket without changing the order inside.
  return [...names].sort((a, b) => bucketOf(a) - bucketOf(b));
}
