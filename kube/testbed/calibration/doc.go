// Package calibration holds the simulator against a test bed, on what both can be told alike: pods that come by chance, ask for room, work for a while and end.
//
//   - [Run] draws them, has fairlead-scheduler serve them on a control plane, and notes by a watch how long each waited for its node and how long it then worked.
//   - [Write] keeps what happened as a trace, and what a control plane takes for a pod that finds room at once as overheads: whoever has both can repeat the simulation.
//   - [Compare] simulates that trace with and without these overheads, and compares the distributions of latencies: the distance of Kolmogorov and Smirnov, quantiles,
//     and, by pods that waited for room and pods that did not, what of the distance is left.
package calibration
