import ts from "typescript";

/** The errors of the TypeScript compiler in strict mode, for a bundler's kind of modules. */
export function typeProblems(files: string[]): string[] {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    types: [],
  });
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file, start }) =>
    `${file?.fileName}:${start}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`
  );
}
