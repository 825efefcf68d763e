import { AppError } from '../errors.js';

/** Which stack: the three path segments of every stack address. */
export interface StackName {
  readonly org: string;
  readonly project: string;
  readonly stack: string;
}

const NAME = /^[A-Za-z0-9_.-]{1,100}$/;
const TAG_NAME = /^[A-Za-z0-9_.:-]{1,40}$/;
const MAX_TAG_VALUE = 256;
const MAX_TAGS = 100;

export const isName = (text: string): boolean => NAME.test(text) && text !== '.' && text !== '..';

/** Throws `malformed` naming the part that is no name. */
export const stackName = (org: string, project: string, stack: string): StackName => {
  for (const [what, value] of Object.entries({ organization: org, project, stack })) {
    if (!isName(value)) {
      throw new AppError('malformed', `${what} name must be 1 to 100 of a-z, A-Z, 0-9, '-', '_' and '.'`);
    }
  }
  return { org, project, stack };
};

export const showStackName = ({ org, project, stack }: StackName): string => `${org}/${project}/${stack}`;

/** Throws `malformed` naming the tag. */
export const checkTags = (tags: Readonly<Record<string, string>>): void => {
  const entries = Object.entries(tags);
  if (entries.length > MAX_TAGS) throw new AppError('malformed', `a stack may have ${MAX_TAGS} tags at most`);
  for (const [name, value] of entries) {
    if (!TAG_NAME.test(name)) {
      throw new AppError(
        'malformed',
        `tag name '${name.slice(0, 60)}' must be 1 to 40 of a-z, A-Z, 0-9, '-', '_', '.' and ':'`,
      );
    }
    if (value.length > MAX_TAG_VALUE || !isStorable(value)) {
      throw new AppError(
        'malformed',
        `the value of tag '${name}' must be plain text of 256 characters at most`,
      );
    }
  }
};

/** What PostgreSQL keeps character for character. */
const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
