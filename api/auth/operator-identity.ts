/** Who acts, and how that was shown. */
export interface Operator {
  /** Name in the audit log: `preferred_username` or `sub`, the certificate's CN, or `SYSTEM`. */
  readonly operatorCn: string;
  /** What does not change when a name does: issuer and `sub`, `cert:<cn>`, or `SYSTEM`. Two votes need two of them. */
  readonly identity: string;
  readonly method: 'jwt' | 'certificate' | 'break_glass';
}
