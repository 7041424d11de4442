package alibaba2018

import (
	"encoding/binary"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// This file turns rows of batch_task into jobs: task_name, instance_num, job_name, task_type, status, start_time, end_time, plan_cpu,
// plan_mem.

const (
	batchPriority = 2
	mostInstances = 10_000_000
)

// batch is the row whose instances are being emitted.
type batch struct {
	time  cluster.Time
	task  trace.Task
	name  string // of the row
	begun uint64 // rows
	given uint32 // instances of this one
}

func (s *Source) readBatch(row *trace.Row) error {
	for _, field := range []int{1, 3} {
		if row.Empty(field) {
			row.Fail(field, map[int]string{1: "a task's name", 3: "a job's name"}[field])
		}
	}
	instances := decimal(row, 2, "a number of instances, from 1 to ten million", mostInstances)
	if instances == 0 {
		row.Fail(2, "a number of instances, from 1 to ten million")
	}
	var start, end int64
	if !row.Empty(6) {
		start = second(row, 6, "a start")
	}
	if !row.Empty(7) {
		end = second(row, 7, "an end")
	}
	if end > 0 && end < start {
		row.Fail(7, "an end that is not before the start, or 0")
	}
	failed := byte(0)
	if string(row.Text(5)) == "Failed" {
		failed = 1
	}
	work := int64(-1)
	if end > 0 {
		work = end - start
	}
	b := append(spill.AppendText(spill.AppendText([]byte{batchRow}, row.Text(3)), row.Text(1)), failed)
	b = binary.AppendVarint(binary.AppendVarint(b, instances), work)
	b = binary.AppendVarint(b, s.amount(row, 8, cpuPlaces, "a request in hundredths of a core"))
	b = binary.AppendVarint(b, s.amount(row, 9, memoryPlaces, "memory in hundredths of the largest machine"))
	if err := row.Err(); err != nil {
		return err
	}
	if start == 0 && end == 0 {
		s.ignored.timeless++
		return nil
	}
	if dependent(string(row.Text(1))) {
		s.ignored.dependent++
	}
	s.last = max(s.last, cluster.Time(max(start, end))*cluster.Second)
	return s.sorted.Add(start, batchRow, b)
}

// dependent reports whether a task of that name waits for others: R4_2, but neither M1 nor task_Nzg3ODAwNDgz.
func dependent(name string) bool {
	own, others, several := strings.Cut(name, "_")
	number := strings.TrimLeft(own, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
	if !several || number == "" || number == own {
		return false
	}
	digits := func(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
	first, _, _ := strings.Cut(others, "_")
	return digits(number) && digits(first)
}

// begin begins a row.
func (b *batch) begin(s *Source, at cluster.Time, c *spill.Cursor) {
	b.time, b.given = at, 0
	owner := s.texts.Of(c.Text())
	b.name = owner + "/" + string(c.Text())
	b.task = trace.Task{Job: firstBatch + b.begun, Owner: owner, Priority: batchPriority, Fails: c.Byte() == 1, JobTasks: uint32(c.Varint()), Work: cluster.Never}
	b.begun++
	if work := c.Varint(); work >= 0 {
		b.task.Work = cluster.Time(work) * cluster.Second
	} else {
		b.task.Fails = false
	}
	s.demand = [2]int64{c.Varint(), c.Varint()}
}

// next makes r the next instance of the row, if there is one left.
func (b *batch) next(s *Source, r *trace.Record) bool {
	if b.given == b.task.JobTasks {
		return false
	}
	*r = trace.Record{Time: b.time, What: trace.TaskSubmitted, Task: b.task}
	r.Task.Index, r.Task.Demand = b.given, s.demand[:]
	r.Task.Name = numbered(b.name, int64(b.given))
	b.given++
	return true
}
