import { searchSuite } from './search.suite.ts';
import { gvisorBench } from './support/sandboxes.ts';

searchSuite('gvisor', gvisorBench);
