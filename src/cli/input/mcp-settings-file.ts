import { reasonOf } from '../../base/reason.ts';
import { UsageFailure } from '../failure.ts';
import { isObject, parseLooseJson } from './mcp-json.ts';

/** One server in the settings of a desktop client, as it stands there. */
export interface SettingsEntry {
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** `mcpServers` of most clients, `servers` of VS Code's mcp.json, `mcp.servers` of its settings.json. */
const places: readonly (readonly string[])[] = [['mcpServers'], ['servers'], ['mcp', 'servers']];

/** The servers of a settings file, in its order. */
export function settingsEntries(text: string, file: string): readonly SettingsEntry[] {
  const settings = parse(text, file);
  for (const place of places) {
    const found = place.reduce<unknown>(
      (value, key) => (isObject(value) ? value[key] : null),
      settings,
    );
    if (isObject(found)) {
      return Object.entries(found).map(([name, value]) => ({
        name,
        value: isObject(value) ? value : {},
      }));
    }
  }
  throw new UsageFailure(
    `${file} lists no MCP servers`,
    'It has an object "mcpServers", or "servers", with one entry for each server.',
  );
}

function parse(text: string, file: string): unknown {
  try {
    return parseLooseJson(text);
  } catch (error) {
    throw new UsageFailure(`${file} is not JSON: ${reasonOf(error)}`, 'Comments are understood.');
  }
}
