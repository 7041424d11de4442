// Package stream reads and writes Fairlead's own trace format: JSON Lines,
// perhaps compressed with gzip, which a program of any language can write
// while it runs.
//
// # The format, version 7
//
// The first line is the header. It names the resources in which capacities
// and demands are given; per_unit is how many of the integer quantities make
// one unit. A kind with "devices": true comes in devices of one unit each, such
// as GPUs (see cluster.Kind); several kinds may, and share the places of a node's
// devices.
//
//	{"fairlead": "trace", "version": 7, "kinds": [
//	  {"name": "cpu", "unit": "cores", "per_unit": 1000},
//	  {"name": "memory", "unit": "GiB", "per_unit": 1073741824}]}
//
// After the kinds it may say what tasks typically ask for, each with the number
// of tasks that do so and perhaps with requirements: by that the fragmentation of
// devices is measured. Without it, that is learned from the tasks.
//
//	"typical": [{"demand": {"cpu": 4000, "gpu": 500}, "require": [["model", "=", "T4"]], "tasks": 37}]
//
// "until" is a time at which a run stops unless told otherwise, where that is not
// when all its work is done.
//
// Each line after it is one record: the time t, and one of add, change, lose,
// usage, submit, kill, constrain, release and budget. (Lines are broken here only to be shown.)
//
//	{"t": 0, "add": {"node": 1, "name": "n1", "capacity": {"cpu": 4000, "memory": 8589934592},
//	  "labels": {"zone": "a"}, "groups": {"rack": "r1"}}}
//	{"t": 0, "submit": {"job": 7, "task": 0, "job_tasks": 3, "user": "ann", "class": 2, "priority": 9,
//	  "demand": {"cpu": 500}, "per_node": 1, "require": [["zone", "=", "a"]],
//	  "work": 60000000, "fails": true, "on": 1, "together": true, "input": [[67108864, 1, 4, 9]]}}
//	{"t": 1000000, "usage": {"node": 1, "used": {"cpu": 350}}}
//	{"t": 5000000, "change": {"node": 1, "name": "n1", "capacity": {"cpu": 2000}}}
//	{"t": 6000000, "kill": {"job": 7, "task": 0}}
//	{"t": 7000000, "lose": {"node": 1}}
//	{"t": 8000000, "constrain": {"name": "apart", "hard": true, "any": [[
//	  {"subject": ["web"], "target": ["web"], "max": 0, "group": "rack"}]]}}
//	{"t": 8000000, "budget": {"name": "shop/web", "least": 2}}
//
// Times are integers in microseconds from the start of the run, and do not go
// backwards. At equal times the order of lines counts; nodes come before
// tasks. Quantities are integers of at least 0, in the kind's smallest unit.
//
//	add        a node joins, or returns
//	change     all of this node is now as given here
//	lose       the node is gone, with all that ran on it
//	usage      so much of the node was measured to be in use
//	submit     a task asks to be placed
//	kill       the user ends the task
//	constrain  placement is to honour a constraint from now on
//	release    the constraint of that name is no more
//	budget     evictions are to honour a budget of disruption from now on; it comes before
//	           its tasks
//
//	node       an integer that names the node
//	name       its name; if omitted, that integer
//	capacity   quantity by kind; a kind that is omitted is 0
//	labels     text by key; may be omitted
//	groups     to which set of each family the node belongs, text by key, such as
//	           its rack; may be omitted
//	tier       its reputation: 3 high, 2 average, 1 low; 0 or omitted: nobody says
//	used       quantity by kind; a kind that is omitted is 0
//
//	job, task  the job, an integer, and the task's number in it
//	job_tasks  how many tasks the job will submit in all; 0 or omitted: unknown
//	user       whose job it is
//	class      latency class, 0 to 255; omitted: 0
//	promise    the name of the task's class in the table of classes that the run
//	           is given; omitted: its priority says which class it has
//	priority   larger is more important; omitted: 0
//	demand     quantity by kind; a kind that is omitted is 0
//	max        quantity by kind, where the task takes from its demand up to so much,
//	           as it is given; a kind that is omitted is fixed, and so are devices
//	name       what people call the task; if omitted, its job and number
//	per_node   how many tasks of the job a node may hold, this one included;
//	           0 or omitted: no limit
//	require    conditions on the node's labels, all to be met: key, one of
//	           = != < >, and value; < and > compare integers; of = and != the
//	           value may be several with | between them
//	prefer     where it would rather be, or rather not where the weight is below 0:
//	           [{"weight": 50, "require": [["disk", "=", "ssd"]]}], from -100 to 100
//	           and not 0; those that a node meets add up
//	work       how long the task runs, in microseconds; omitted: it never ends. With a
//	           max, with one unit of the first kind that is a range: 9 take a ninth
//	speeds     how fast it works on nodes with a label, in millionths: on nodes with gpu-model=k80
//	           for five times as long with [["gpu-model", "k80", 200000]], and on others for as long
//	           as work says. All are of one key, each value once, from 1 to 10^9; may be omitted
//	fails      it ends by failing
//	on         the node on which the task runs when it is submitted
//	together   all tasks of the job want to stand on one node; the job's first
//	           task says it
//	gang       so many of the job's tasks are to run at least, or none is placed; 0, 1 or
//	           omitted: each is placed by itself. The job's first task says it
//	due        when all of the job is to be done, in microseconds since it was submitted, and what
//	           that is worth: [[60000000, 10], [90000000, 5]], later and later, and less and less;
//	           the first is its deadline. The job's first task says it; omitted: it has none
//	input      what the task reads when it begins to run, block by block: its
//	           bytes, and up to 3 nodes that hold it
//	tags       what constraints name the task by, each once; may be omitted
//	long_running  the job is an application that stays; its first task says it
//	service    the job's tasks go on until somebody ends them, and do the same, so that it is good to
//	           have them on different nodes; its first task says it
//	budgets    the names of the budgets of disruption that the task counts for, each once; may
//	           be omitted. A task of several is never evicted
//	unready    its run on the node is not available, as far as budgets go
//	owner      who has made the task, such as shop/deployment/web; may be omitted
//	pinned     the task belongs to the node that it runs on, and stays there
//	foreign    the scheduler that places it, if that is another than the one that is simulated: it
//	           takes room where it runs, is never evicted or moved, and waits for that scheduler
//	unowned         nobody makes it again: it is not moved, and ends where it is evicted
//	never_preempts  nobody is to be evicted for its sake
//	gate       what keeps it from being placed for now; omitted: nothing does
//
//	name       of a constraint, by which it is known as long as it is there
//	owner      the application that brought it; omitted: the operator
//	any        alternatives, of which one shall hold; each is a list of bounds, which
//	           shall all hold
//	hard       no placement may violate it; else weight is what each violation costs,
//	           in thousandths; omitted: 1000
//	arriving   it binds who comes, and nobody who stands there already
//	subject    tags that a task must all have to be bound; omitted: every set is
//	target     tags that a task must all have to be counted
//	min, max   how many others in the same set there shall be; omitted: 0 and no limit
//	group      node, where each node is a set, or a key of groups
//	self_counted  a subject that is a target counts itself
//	or_first   a subject that is a target may go to any set while none counts anybody
//	over_fewest  max is how many more there may be than in the set with the fewest
//	least_sets  with fewer sets than that the fewest are none
//
//	name       of a budget
//	least      how many of its tasks are to be available: none of these is evicted where
//	           fewer would be
//	frees_unready  a task that runs and is not available may be evicted at any time; else
//	           only while as many are available as are to be, or more
//
// Names that are not listed are errors. Text is UTF-8. The version changes when
// a name is added, goes or changes its meaning, as old readers reject new
// names. Older versions are still read: version 6 has no due and speeds; version 5 no gang, prefer, service, owner, pinned, foreign, unowned, never_preempts,
// gate, budget, budgets and unready; version 4 no
// tags, long_running, constrain and release; version 3 no tier, promise and max either;
// version 2 has no groups, usage, together and input either; version 1 no devices,
// name and per_node, and "apart": true for "per_node": 1.
//
// Whether nodes and tasks exist is not checked here: that is for who replays
// the stream.
package stream
