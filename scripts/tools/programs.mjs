import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export const isExecutableFile = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** The full path of a program on PATH, or undefined. */
export const findProgram = (name) =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutableFile);
