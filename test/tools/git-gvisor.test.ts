import { gitSuite } from './git.suite.ts';
import { gvisorBench } from './support/sandboxes.ts';

gitSuite('gvisor', gvisorBench);
