/** A part of the executable that somebody else has written. */
export interface Notice {
  name: string;
  version: string;
  /** SPDX expression. */
  license: string;
  /** Indexes of `texts`: the files that come with it. */
  texts: number[];
}

/** What cli/notices.json holds; `gateway version --licenses` prints it. */
export interface Notices {
  /** Packages of npm. */
  packages: Notice[];
  /** What the API reference's script is made of (`lib/http/pages/reference`). */
  reference: Notice[];
  /** Rust crates in the sandbox's engine and contracts. */
  crates: Notice[];
  texts: string[];
}
