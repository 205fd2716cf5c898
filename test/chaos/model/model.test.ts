import { describe, expect, test } from 'vitest';
import { FileRecord } from './file-record.ts';
import type { Content } from './file-record.ts';
import { Ledger } from './ledger.ts';
import { observeProcess } from './process-record.ts';
import { WorkspaceRecord } from './workspace-record.ts';

const content = (label: string): Content => ({ digest: `digest of ${label}`, bytes: 9, label });
const [first, second, third] = [content('first'), content('second'), content('third')];

describe('a file', () => {
  test('holds what was acknowledged, and nothing else', () => {
    const file = new FileRecord();
    file.attempt(first);
    file.acknowledge(first);
    expect(file.observe(first)).toBeUndefined();
    expect(file.observe(null)).toMatch(/^no file, where only 9 bytes "first" .* is possible$/);
    expect(file.observe(second)).toContain('9 bytes "second"');
  });

  test('holds the old or the new after an unanswered write, never a mixture', () => {
    for (const found of [first, second]) {
      const file = new FileRecord();
      file.acknowledge(first);
      file.attempt(second);
      expect(file.observe(content('fir' + 'ond'))).toContain('9 bytes "firond"');
      expect(file.observe(found)).toBeUndefined();
    }
  });

  test('may not be there when its first write was not answered', () => {
    const file = new FileRecord();
    file.attempt(first);
    expect(file.certain).toBe(false);
    expect(file.observe(null)).toBeUndefined();
    expect(file.observe(first)).toBeUndefined();
    expect(file.certain).toBe(true);
    expect(file.observe(null)).toContain('no file');
  });

  test('never goes back behind what was seen', () => {
    const file = new FileRecord();
    for (const written of [first, second, third]) file.attempt(written);
    expect(file.observe(second)).toBeUndefined();
    expect(file.observe(first)).toContain('"second" (digest of se) or 9 bytes "third"');
    expect(file.observe(third)).toBeUndefined();
    expect(file.observe(second)).toContain('"second"');
  });
});

describe('a workspace', () => {
  test('exists until it is destroyed, then is gone for good', () => {
    const workspace = new WorkspaceRecord('id');
    expect(workspace.observeMissing()).toBe('is gone, though nobody destroyed it');
    workspace.attempt('destroy');
    workspace.acknowledge('destroy');
    expect(workspace.observeMissing()).toBeUndefined();
    expect(workspace.observeStatus('ready')).toBe('is there again (ready) after it was destroyed');
  });

  test('may be there or not after an unanswered destroy, but does not come back', () => {
    const workspace = new WorkspaceRecord('id');
    workspace.attempt('destroy');
    expect(workspace.observeStatus('ready')).toBeUndefined();
    expect(workspace.observeStatus('destroying')).toBeUndefined();
    expect(workspace.observeMissing()).toBeUndefined();
    expect(workspace.observeStatus('destroying')).toContain('is there again');
  });

  test('stays stopped until it is resumed', () => {
    const workspace = new WorkspaceRecord('id');
    expect(workspace.observeStatus('stopped')).toContain('only ready or resuming is possible');
    workspace.attempt('stop');
    workspace.acknowledge('stop');
    expect(workspace.rest).toBe('stopped');
    expect(workspace.observeStatus('stopped')).toBeUndefined();
    expect(workspace.observeStatus('resuming')).toContain('only stopped or stopping is possible');
    workspace.attempt('resume');
    expect([workspace.rest, workspace.observeStatus('stopped')]).toEqual([undefined, undefined]);
    workspace.acknowledge('resume');
    expect(workspace.rest).toBe('ready');
  });

  test('is at one of the two ends of an unanswered change', () => {
    const workspace = new WorkspaceRecord('id');
    workspace.attempt('stop');
    for (const status of ['ready', 'stopping', 'stopped'] as const) {
      expect(workspace.observeStatus(status)).toBeUndefined();
    }
    expect(workspace.observeStatus('creating')).toContain('is creating');
  });

  test('owes a process as long as its sandbox lives', () => {
    const workspace = new WorkspaceRecord('id');
    const process = { id: 'p', output: '1\n2\n', exitCode: 7, life: workspace.life };
    expect(workspace.owes(process)).toBe(true);
    workspace.attempt('resume');
    expect(workspace.owes(process)).toBe(true);
    workspace.attempt('stop');
    expect(workspace.owes(process)).toBe(false);
  });
});

describe('a process', () => {
  const process = { id: 'p', output: '1\n2\n', exitCode: 7, life: 0 };
  test('writes its output from the beginning, whole when it has ended', () => {
    expect(observeProcess(process, { output: '', exitCode: null })).toBeUndefined();
    expect(observeProcess(process, { output: '1\n', exitCode: null })).toBeUndefined();
    expect(observeProcess(process, { output: '1\n2\n', exitCode: 7 })).toBeUndefined();
    expect(observeProcess(process, { output: '2\n', exitCode: null })).toContain('never wrote');
    expect(observeProcess(process, { output: '1\n', exitCode: 7 })).toContain('2 of 4 characters');
    expect(observeProcess(process, { output: '1\n2\n', exitCode: 137 })).toContain('exit code 137');
  });
});

describe('a row that no answer named', () => {
  test('can only come from a create that was not answered', () => {
    const ledger = new Ledger();
    ledger.attemptCreate('a');
    ledger.attemptCreate('b');
    ledger.refuseCreate('b');
    ledger.attemptCreate('c');
    ledger.acknowledgeCreate('c', 'id of c');
    expect(ledger.observeStray('a')).toBeUndefined();
    expect(ledger.observeStray('b')).toBe('is there, though its create was refused');
    expect(ledger.observeStray('c')).toBe('is the second workspace of one create');
    expect(ledger.observeStray('d')).toBe('is there, though nobody created it');
    expect(ledger.observeStray(undefined)).toBe('is there, though nobody created it');
    ledger.adopt('id of a', 'stopped');
    expect(ledger.find('id of a')?.rest).toBe('stopped');
    expect(ledger.workspaces.map(({ id }) => id)).toEqual(['id of c', 'id of a']);
  });
});
