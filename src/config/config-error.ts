/** Lists every problem at once, so that a wrong configuration is mended in one go. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(`configuration: ${problems.join('; ')}`, options);
    this.problems = problems;
  }
}
