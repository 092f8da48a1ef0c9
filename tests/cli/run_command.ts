import { type Command, type CommandIo, UsageError } from "../../cli/command.ts";
import { COMMANDS } from "../../cli/command_line.ts";
import { reportFailure } from "../../cli/failure.ts";

/** Runs a command as the command line does, but for a wrong call: a test looks at what was thrown. */
export async function runCommand(command: Command, args: string[], io: CommandIo): Promise<number> {
  try {
    return await command.run(args, io);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return reportFailure(await nameOf(command), error, io);
  }
}

async function nameOf(command: Command): Promise<string | undefined> {
  for (const [name, { load }] of Object.entries(COMMANDS)) if (await load() === command) return name;
  return undefined;
}
