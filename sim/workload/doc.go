// Package workload makes up clusters and workloads that look like the one
// Google published in 2011, for whoever has no trace at hand or wants a longer
// or a smaller one. It is a trace.Source: records are made one at a time as
// they are asked for, and memory does not grow with the length of the trace.
//
// A workload has two parts, which look quite different. The stock is what is
// there at the start: half of it belongs to a few huge jobs, and most of what
// it asks for is production work that stays for months. The flow is what
// arrives: many small jobs in bursts, most tasks in few large ones, nearly all
// short. Nodes may also leave and come back (churn).
//
// The numbers are in google2011.json, with where they come from: computed from
// the published data where that is at hand, from the literature or chosen
// where it is not. Priority, class, size and shape of a job are drawn together,
// as a row of jobs that were seen, so that what goes together in the data goes
// together here. The stock is a sample of the snapshot itself; the flow is
// new jobs and snapshot jobs weighted until they fit what is known of 29 days.
//
// A cluster of another size keeps the shares of everything; see rescale for
// what becomes of its large jobs.
//
// The stock of 11.57 tasks a node asks for 127 % of cpu and 112 % of memory,
// as in the data, where nodes are over-committed and 8 % of tasks wait. It is
// in proportion: without over-commitment 7 tasks a node ask for 77 % and 68 %.
// Part of it ends, as the jobs of the snapshot did: of free work two thirds
// within a week, of middle work four fifths, of production one fifth. The rest
// never ends.
//
// The flow at rate 1 is 10 tasks a second in 12,477 nodes. How long they run
// is known only of those that ended within the 83 minutes at hand; by these
// the flow would hold some 3 % of the cpu. The snapshot holds more than ten
// times as much free and middle work, and the cluster stayed about as full as
// it was, so some of what arrives must run long, as a good part of the large
// free jobs of those minutes does. We let 20 % of large free jobs, 4 % of
// middle and all of production draw from the times of class 3, half of which
// are over an hour. These shares are chosen, not measured.
//
// If every task starts at once, the flow alone then holds 5 % of cpu after
// three hours and about 20 % after a day. Its mean over days 8 to 29 was 39 to
// 48 % of cpu and 28 to 38 % of memory, and with the stock 98 to 125 % and 78
// to 108 %, over eight runs of 1,000 and 3,000 nodes. Large jobs make it swing:
// a thousand nodes once had 171 % of cpu asked for within three days.
//
// Where the data says that a user killed a job, here its work is done: there
// are no kills and no failures. A node that is lost always returns.
//
// WithData gives a workload of any source, one from here or a real trace, what
// no trace has: racks, and where the input of tasks lies.
package workload
