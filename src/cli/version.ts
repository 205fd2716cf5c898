import packageJson from '../../package.json' with { type: 'json' };

export function version(): string {
  return packageJson.version;
}
