import { containerConformance } from './containers.ts';

containerConformance('gvisor');
