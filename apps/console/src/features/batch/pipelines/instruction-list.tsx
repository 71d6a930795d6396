import { instructionWords } from './instruction-words.ts';
import { readInstruction } from './read-instruction.ts';

/** A pipeline’s instructions, decoded on this page from their own bytes. */
export function InstructionList({ instructions }: { readonly instructions: readonly string[] }) {
  return (
    <ol className="flex flex-col gap-1.5">
      {instructions.map((base64, position) => {
        const { program, text } = instructionWords(readInstruction(base64));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the instructions of a pipeline never move.
          <li key={position} className="flex gap-3 text-sm">
            <span className="tabular w-4 shrink-0 text-right text-xs leading-5 text-quiet">{position + 1}</span>
            <span className="min-w-0 break-words">
              <span className="font-medium">{program}</span> <span className="text-quiet">{text}</span>
            </span>
          </li>
        );
      })}
    </ol>
  );
}
