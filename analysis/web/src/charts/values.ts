// Numbers as the report's data holds them. null is "not observed".

export type Interval = [number, number] | null;
export type Maybe = number | null;
