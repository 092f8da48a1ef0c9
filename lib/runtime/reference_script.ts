/** The gzipped script of the API reference, from the source tree or from the executable. */
export async function readReferenceScript(): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof Bun === "undefined") {
    return await Deno.readFile(new URL("../http/pages/reference/scalar.js.gz", import.meta.url));
  }
  // Bun embeds a file import into the executable, and returns the path to read it from.
  const { default: path } = await import("../http/pages/reference/scalar.js.gz", { with: { type: "file" } });
  return await Bun.file(path).bytes();
}
