import { glob, stat } from 'node:fs/promises';

import { findProgram } from '../../programs.ts';
import { aptInstall } from '../apt.ts';
import type { SetupContext } from '../context.ts';
import type { SetupStep } from '../step.ts';

const compilerName = 'C compiler';

/** What only the test suite needs. */
export function postgresServer(context: SetupContext): SetupStep {
  return {
    name: 'PostgreSQL server',
    why: 'The tests run the store on a real server that they start themselves.',
    after: [],
    remedy: 'sudo apt-get install postgresql',
    async needed() {
      if ((await findProgram('initdb')) !== undefined) return false;
      for await (const path of glob('/usr/lib/postgresql/*/bin/initdb')) {
        if (path !== '') return false;
      }
      return 'no initdb was found';
    },
    async run(note, signal) {
      await aptInstall(['postgresql'], context.root, note, signal);
    },
  };
}

export function muslCompiler(context: SetupContext): SetupStep {
  return {
    name: 'musl',
    why: 'The tests run a program that is linked to it: what is in small images often is.',
    after: [compilerName],
    remedy: 'sudo apt-get install musl-tools',
    async needed() {
      return (await findProgram('musl-gcc')) === undefined ? 'no musl-gcc was found' : false;
    },
    async run(note, signal) {
      await aptInstall(['musl-tools'], context.root, note, signal);
    },
  };
}

export function networkTools(context: SetupContext): SetupStep {
  return {
    name: 'Network tools',
    why: 'The tests send packets through networks of their own.',
    after: [],
    remedy: 'sudo apt-get install iproute2',
    async needed() {
      return (await findProgram('ip')) === undefined ? 'no ip was found' : false;
    },
    async run(note, signal) {
      await aptInstall(['iproute2'], context.root, note, signal);
    },
  };
}

export function cCompiler(context: SetupContext): SetupStep {
  return {
    name: compilerName,
    why: "Go's race detector needs it in the agent's tests.",
    after: [],
    remedy: 'sudo apt-get install gcc libc6-dev',
    async needed() {
      const headers = await stat('/usr/include/stdlib.h').catch(() => undefined);
      return (await findProgram('gcc')) !== undefined && headers
        ? false
        : 'gcc or its headers are missing';
    },
    async run(note, signal) {
      await aptInstall(['gcc', 'libc6-dev'], context.root, note, signal);
    },
  };
}
