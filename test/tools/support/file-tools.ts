import type { EditResult, ReadResult, WriteResult } from '../../../src/domain/tools.ts';
import { editTool } from '../../../src/engine/tools/edit.ts';
import { readTool } from '../../../src/engine/tools/read.ts';
import { writeTool } from '../../../src/engine/tools/write.ts';
import type { TestSandbox } from '../../conformance/sandbox.ts';
import { soon } from '../../conformance/sandbox.ts';

/** The tools for files on one sandbox, with the defaults of the API. */
export class FileTools {
  readonly sandbox: TestSandbox;

  constructor(sandbox: TestSandbox) {
    this.sandbox = sandbox;
  }

  get target() {
    return { provider: this.sandbox.provider, ref: this.sandbox.spec };
  }

  read(path: string, { offset = 1, limit = 2_000 } = {}): Promise<ReadResult> {
    return readTool(this.target, { path, offset, limit }, soon());
  }

  write(path: string, content: string, signal = soon()): Promise<WriteResult> {
    return writeTool(this.target, { path, content }, signal);
  }

  edit(
    path: string,
    oldString: string,
    newString: string,
    { replaceAll = false, signal = soon() } = {},
  ): Promise<EditResult> {
    return editTool(this.target, { path, oldString, newString, replaceAll }, signal);
  }

  /** The bytes that are there. */
  async text(path: string): Promise<string> {
    return (await this.sandbox.read(path)).toString('latin1');
  }
}
