import {
  globBody,
  globResult,
  grepBody,
  grepResult,
  presentGlob,
  presentGrep,
  toGlobRequest,
  toGrepRequest,
} from '../schemas/search.ts';
import { workspaceTool } from './tool.ts';

const annotations = { readOnlyHint: true, openWorldHint: false };

export const glob = workspaceTool(
  {
    name: 'glob',
    title: 'Find files',
    description: 'Find files by a pattern on their paths, such as `src/**/*.ts`, newest first.',
    annotations,
  },
  {
    input: globBody.shape,
    output: globResult,
    async run({ engine, caller, signal }, id, input) {
      return presentGlob(await engine.tools.glob(caller, id, toGlobRequest(input), signal));
    },
    text({ matches, total, truncated }) {
      const paths = matches.map(({ path }) => path);
      if (truncated) paths.push(`[${String(total)} match; the newest are shown]`);
      return paths.join('\n') || '[no file matches]';
    },
  },
);

export const grep = workspaceTool(
  {
    name: 'grep',
    title: 'Search in files',
    description:
      'Find lines by a regular expression (RE2 syntax) in a directory and all below it, or in one file.',
    annotations,
  },
  {
    input: grepBody.shape,
    output: grepResult,
    async run({ engine, caller, signal }, id, input) {
      return presentGrep(await engine.tools.grep(caller, id, toGrepRequest(input), signal));
    },
    text({ matches, truncated }) {
      const lines = matches.map(({ path, line, text }) => `${path}:${String(line)}: ${text}`);
      if (truncated) lines.push('[there are more matches]');
      return lines.join('\n') || '[no line matches]';
    },
  },
);
