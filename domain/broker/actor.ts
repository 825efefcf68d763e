import type { ActContext } from './audit.js';

/** Who acts: an operator as the audit log names them, and who they really are. */
export interface Actor {
  readonly operatorCn: string;
  /** `iss`+`sub`, `cert:<cn>` or `SYSTEM`: two names of one person are one identity. */
  readonly identity: string;
  readonly context: ActContext;
}

export const BREAK_GLASS = 'SYSTEM';
