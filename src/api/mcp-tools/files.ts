import {
  editBody,
  editResult,
  presentRead,
  readBody,
  readResult,
  writeBody,
  writeResult,
} from '../schemas/tools-files.ts';
import { workspaceTool } from './tool.ts';

export const read = workspaceTool(
  {
    name: 'read',
    title: 'Read a file',
    description:
      'Read lines of a text file, each as `N: text` with its number, or list a directory. Of a binary file only its ' +
      'size is told. At most 2,000 lines or 50 KB at once; next_offset says where to read on.',
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    input: readBody.shape,
    output: readResult,
    async run({ engine, caller, signal }, id, { file_path: path, offset, limit }) {
      return presentRead(await engine.tools.read(caller, id, { path, offset, limit }, signal));
    },
    text(found) {
      if (found.kind === 'binary') {
        const size = found.size === null ? 'unknown size' : `${String(found.size)} bytes`;
        return `${found.file_path} is a binary file (${size}).`;
      }
      const shown = found.kind === 'text' ? found.content : found.entries.join('\n');
      const more = `[more follows: read on with offset ${String(found.next_offset)}]`;
      return found.truncated ? `${shown}\n${more}` : shown || '[empty]';
    },
  },
);

export const write = workspaceTool(
  {
    name: 'write',
    title: 'Write a file',
    description:
      'Write a whole text file, over what was there before; directories on the way are made. To change a part of a ' +
      'file, use edit.',
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
  },
  {
    input: writeBody.shape,
    output: writeResult,
    async run({ engine, caller, signal }, id, { file_path: path, content }) {
      const written = await engine.tools.write(caller, id, { path, content }, signal);
      return { file_path: written.path, size: written.size, created: written.created };
    },
    text: ({ file_path: path, size, created }) =>
      `${created ? 'Created' : 'Wrote'} ${path} (${String(size)} bytes).`,
  },
);

export const edit = workspaceTool(
  {
    name: 'edit',
    title: 'Replace text in a file',
    description:
      'Replace old_string by new_string, byte for byte; all else stays as it is. old_string must occur exactly once, ' +
      'unless replace_all is set. Line numbers that read shows (`N: `) are not part of the file.',
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  },
  {
    input: editBody.shape,
    output: editResult,
    async run({ engine, caller, signal }, id, input) {
      const wanted = {
        path: input.file_path,
        oldString: input.old_string,
        newString: input.new_string,
        replaceAll: input.replace_all,
      };
      const { path, size, replacements } = await engine.tools.edit(caller, id, wanted, signal);
      return { file_path: path, size, replacements };
    },
    text: ({ file_path: path, replacements }) => `${path}: replaced ${String(replacements)} times.`,
  },
);
