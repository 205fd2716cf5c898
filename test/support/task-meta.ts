import 'vitest';

/** What our tests tell the reporter about themselves. */
declare module 'vitest' {
  interface TaskMeta {
    /** The scenarios a test shows. */
    verifies?: readonly string[];
    /** The implementation a shared suite runs on, such as the provider's name. */
    runsOn?: string;
    /** The shared suite that the test belongs to. */
    suite?: 'conformance';
  }
}
