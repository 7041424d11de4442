package trace

// Taints is the key of the label that stands for a node's taints, as kubectl prints them, with
// commas. No label of a node itself has it.
const Taints = "spec.taints"
