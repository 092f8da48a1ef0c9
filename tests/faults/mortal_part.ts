/** The life of one gateway in this process. After its end the gateway has no effect, as after SIGKILL. */
export interface Life {
  /** Resolves when it is over. */
  over: Promise<void>;
  readonly isOver: boolean;
  end(): void;
  /** Does one step: the gateway may die just before it, or just after it without the result. */
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
