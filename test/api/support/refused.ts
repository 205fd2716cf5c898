import { expect } from 'vitest';
import type { CallOptions } from './client.ts';
import type { TestServer } from './server.ts';

export const invalid = [422, 'invalid_value'] as const;
export const unknown = [422, 'unknown_field'] as const;

/** Expects an error of this status and code, whose message says so much and which has a hint. */
export async function expectRefused(
  server: TestServer,
  [status, code]: readonly [number, string],
  says: string,
  [method, path]: readonly [string, string],
  options?: CallOptions,
): Promise<void> {
  const error = await server.admin.error(status, method, path, options);
  expect(error.code).toBe(code);
  expect(error.message).toContain(says);
  expect(error.hint).not.toBe('');
}
