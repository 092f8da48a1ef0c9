/** Interval between measurements. */
const INTERVAL_MS = 250;

/** Measures how late the event loop runs a timer, in seconds, until `stop`. */
export function watchLoopDelay(onDelay: (seconds: number) => void): { stop(): void } {
  let dueAt = performance.now() + INTERVAL_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    onDelay(Math.max(0, now - dueAt) / 1000);
    dueAt = now + INTERVAL_MS;
  }, INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}
