/** The life of one gateway in this process. Once it is over nothing it does has any effect, as after SIGKILL. */
export interface Life {
  /** Resolves when it is over. */
  over: Promise<void>;
  readonly isOver: boolean;
  end(): void;
  /** Does one thing in the world: it may die just before, or just after without hearing what came of it. */
  step<T>(act: () => Promise<T>): Promise<T>;
}

const forEver = <T>() => new Promise<T>(() => {});

/** @param steps after so many it is over; each thing done is two */
export function beginLife(steps: number): Life {
  let [left, isOver] = [steps, false];
  let told = () => {};
  const over = new Promise<void>((resolve) => told = resolve);

  function end(): void {
    isOver = true;
    told();
  }

  function pass(): boolean {
    left -= 1;
    if (left <= 0) end();
    return !isOver;
  }

  return {
    over,
    get isOver() {
      return isOver;
    },
    end,
    async step(act) {
      if (!pass()) return await forEver();
      try {
        return await act();
      } finally {
        if (!pass()) await forEver();
      }
    },
  };
}
