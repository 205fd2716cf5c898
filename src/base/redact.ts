const secretName = /token$|secret|passw(or)?d|authorization|cookie|api[_-]?key|^env$/i;
const maxDepth = 8;
const maxObjects = 1_000;

/**
 * A copy in which every field that is named like a secret is censored, at any depth. Cycles are cut and its size
 * is bounded whatever it is given, so a log call can neither throw nor hang on what it is handed.
 */
export function redact(value: unknown): unknown {
  return new Redaction().copy(value);
}

class Redaction {
  readonly #path = new Set<object>();
  #objects = 0;

  copy(value: unknown): unknown {
    if (!Array.isArray(value) && !isPlainObject(value)) return value;
    if (this.#path.has(value)) return '[circular]';
    if (this.#path.size > maxDepth) return '[too deep]';
    if (++this.#objects > maxObjects) return '[too much]';
    this.#path.add(value);
    const made = Array.isArray(value)
      ? value.map((item) => this.copy(item))
      : Object.fromEntries(Object.entries(value).map(([name, field]) => this.#field(name, field)));
    this.#path.delete(value);
    return made;
  }

  #field(name: string, value: unknown): [string, unknown] {
    const censored = secretName.test(name) && value !== undefined;
    return [name, censored ? '[redacted]' : this.copy(value)];
  }
}

/** Errors, dates and buffers have ways of their own to be written. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
