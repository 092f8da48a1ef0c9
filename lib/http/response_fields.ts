import { z } from "zod";
import { EXAMPLE } from "../escrow/example_values.ts";

/** A text. */
export const text = (description: string, example: string) => z.string().meta({ description, example });

/** True or false. */
export const flag = (description: string, example: boolean) => z.boolean().meta({ description, example });

/** A time in ISO 8601. */
export const isoTime = (description: string) => z.iso.datetime().meta({ description, example: EXAMPLE.time });

/** The sequence of a ledger. */
export const ledgerSequence = (description: string, example = EXAMPLE.ledger) => z.int().meta({ description, example });

/** The id of a stored event, or of a test event. */
export const anyEventId = (description: string, example = EXAMPLE.eventId) => text(description, example);

/** A whole number from 0. */
export const count = (description: string, example: number) => z.int().meta({ description, example });

/** Where a list continues. */
export const nextCursor = (description: string, example: string) =>
  z.string().nullable().meta({ description, example });
