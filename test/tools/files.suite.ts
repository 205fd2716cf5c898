import { afterAll, beforeAll, describe } from 'vitest';
import type { SandboxRef, WorkspaceProvider } from '../../src/domain/provider.ts';
import { TestSandbox, newSpec, soon } from '../conformance/sandbox.ts';
import { editTests } from './files-edit.ts';
import { interruptedTests } from './files-interrupted.ts';
import { readTests } from './files-read.ts';
import { writeTests } from './files-write.ts';
import { FileTools } from './support/file-tools.ts';

export interface SandboxesUnderTest {
  readonly provider: WorkspaceProvider;
  /** An image with sh and the tools of a plain Debian. */
  readonly image: string;
  /** Ends everything in a sandbox at once, where there is a sandbox to end. */
  readonly kill?: (ref: SandboxRef) => Promise<void>;
}

/** What the groups of tests are written against: one sandbox, in which tests keep to files of their own. */
export interface FileBench {
  readonly tools: () => FileTools;
  readonly subject: () => SandboxesUnderTest;
}

/** What read, write and edit do on every provider, with the same expected values on each. */
export function fileToolSuite(name: string, factory: () => Promise<SandboxesUnderTest>): void {
  describe(`file tools on ${name}`, { meta: { runsOn: name } }, () => {
    let subject: SandboxesUnderTest | undefined;
    let tools: FileTools | undefined;
    beforeAll(async () => {
      subject = await factory();
      const spec = newSpec(subject.image);
      await subject.provider.create(spec, soon());
      tools = new FileTools(new TestSandbox(subject.provider, spec));
    });
    afterAll(async () => {
      await tools?.sandbox.destroy();
      await subject?.provider[Symbol.asyncDispose]();
    });
    const present = <T>(value: T | undefined): T => {
      if (value !== undefined) return value;
      throw new Error('the sandbox is available inside tests only');
    };
    const bench: FileBench = { tools: () => present(tools), subject: () => present(subject) };
    describe('read', () => {
      readTests(bench);
    });
    describe('write', () => {
      writeTests(bench);
    });
    describe('edit', () => {
      editTests(bench);
    });
    describe('interrupted', () => {
      interruptedTests(bench);
    });
  });
}
