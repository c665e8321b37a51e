// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/test/framework"
	"github.com/fairlead-dev/fairlead/test/node"
	"github.com/fairlead-dev/fairlead/test/soak/counters"
	"github.com/fairlead-dev/fairlead/test/soak/load"
)

// calm is how long requests flow before and after what is done: what is lost late counts too.
const calm = 5 * time.Second

// environment holds the clients and settings of the scenarios.
type environment struct {
	*deployment
	routes *routes
	image  string
	rolls  int
	// blind are the times in which the Service led to a process that was not known to be dead.
	blind []window
}

// Run deploys Fairlead, plays the scenarios, and returns a row for each. A row that lost what it must
// not lose is an error, and there all the same.
func Run(ctx context.Context, n *node.Node, o Options) (rows []Row, err error) {
	o.setDefaults()
	only, err := regexp.Compile(o.Only)
	if err != nil {
		return nil, fmt.Errorf("the scenarios to run: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer cancel(nil)
	watchers.Go(func() {
		if err := keepLogs(ctx, o.Logs); err != nil {
			cancel(err)
		}
	})
	began := time.Now()
	s := &environment{image: One, routes: newRoutes(framework.Namespace, service)}
	nft, err := lookPath("nft", n.Environment())
	if err != nil {
		return nil, err
	}
	watchers.Go(func() {
		if err := s.routes.watch(ctx, nft, n.Environment()); err != nil {
			cancel(err)
		}
	})
	if s.deployment, err = deploy(ctx, n, o.Root, Repository+":"+s.image, single); err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(o.Output, "Fairlead is deployed with %d replicas after %.1f s\n", single.replicas(), time.Since(began).Seconds())
	watchers.Go(func() { cancel(s.watchPods(ctx, s.routes)) }) // of two causes, the first counts
	rows, err = s.runAll(ctx, o, only)
	rows = append(slices.Clone(o.Before), rows...)
	if o.Stay && err == nil {
		_, _ = fmt.Fprintf(o.Output, "KUBECONFIG=%s\n", n.Kubeconfig())
		<-ctx.Done()
	}
	return rows, errors.Join(err, table(o.Output, rows))
}

func (e *environment) runAll(ctx context.Context, o Options, only *regexp.Regexp) ([]Row, error) {
	config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig())
	if err != nil {
		return nil, err
	}
	var rows []Row
	var verdicts []error
	for _, l := range []*layout{single, split} {
		parts := slices.DeleteFunc(scenarios(o, l), func(part scenario) bool { return !only.MatchString(part.name) })
		if len(parts) == 0 {
			continue
		}
		if l != e.layout {
			parts = slices.Insert(parts, 0, scenario{name: "from one layout to the other on a real node", strict: true, run: divide(o.Root), rounds: 1})
		}
		for _, part := range parts {
			part.namespace = fmt.Sprintf("load-%d", len(rows)) // names of objects repeat from one load to the next
			row, err := e.runOne(ctx, part, config, o)
			rows = append(rows, row)
			verdicts = append(verdicts, err, e.judge(&row))
			if err != nil {
				return rows, errors.Join(verdicts...) // what follows would measure the consequences
			}
			_, _ = fmt.Fprintf(o.Output, "%s: %d of %d requests failed\n", row.Scenario, row.Lost(), row.Sent)
		}
		if err := e.printMemory(ctx, o.Output); err != nil {
			return rows, errors.Join(append(verdicts, err)...)
		}
	}
	return rows, errors.Join(verdicts...)
}

// printMemory prints what memory the processes of the layout have, after the load.
func (e *environment) printMemory(ctx context.Context, w io.Writer) error {
	pods, err := e.pods(ctx)
	if err != nil {
		return err
	}
	sum := 0
	for i := range pods {
		bytes, err := memory("/proc", pods[i].Name)
		if err != nil {
			return err
		}
		sum += bytes
		_, _ = fmt.Fprintf(w, "config/%s: %s has %d MiB\n", e.layout.folder, pods[i].Name, bytes>>20)
	}
	_, err = fmt.Fprintf(w, "config/%s: %d processes, %d MiB\n", e.layout.folder, len(pods), sum>>20)
	return err
}

// runOne runs a scenario under load.
func (e *environment) runOne(ctx context.Context, part scenario, config *rest.Config, o Options) (Row, error) {
	ctx, end := context.WithTimeoutCause(ctx, o.Limit, fmt.Errorf("not over after %v: on a machine this busy, ask for fewer requests", o.Limit))
	defer end()
	row := Row{Scenario: part.name, Strict: part.strict}
	if _, err := e.kubectl(ctx, nil, "create", "namespace", part.namespace); err != nil {
		return row, err
	}
	counted := counters.New()
	flow, stop := context.WithCancel(ctx)
	defer stop()
	flowed := make(chan error, 1)
	began := time.Now()
	go func() {
		flowed <- load.Run(flow, load.Options{Config: config, Namespace: part.namespace, Counters: counted, Rate: float32(o.Rate), Seed: uint64(began.Unix())})
	}()
	e.routes.take()
	err := pause(ctx, calm)
	round := 0
	for ; err == nil && (round < part.rounds || counted.Sent() < part.atLeast); round++ {
		err = part.run(ctx, e, &row)
		_, _ = fmt.Fprintf(o.Output, "%s, round %d: %d requests so far\n", part.name, round+1, counted.Sent())
	}
	if err == nil {
		err = pause(ctx, calm)
	}
	stop()
	err = errors.Join(err, <-flowed)
	row.Sum, row.Took, row.lags = counted.Sum(), time.Since(began), e.routes.take()
	row.Notes = append([]string{fmt.Sprintf("%d times", round)}, row.Notes...)
	if err != nil {
		err = fmt.Errorf("%s: %w", part.name, err)
	}
	return row, err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// lookPath finds a program in the PATH of an environment.
func lookPath(program string, environment []string) (string, error) {
	for _, entry := range environment {
		path, found := strings.CutPrefix(entry, "PATH=")
		if !found {
			continue
		}
		for folder := range strings.SplitSeq(path, ":") {
			if found, err := exec.LookPath(folder + "/" + program); err == nil {
				return found, nil
			}
		}
	}
	return "", fmt.Errorf("the node has no program %s", program)
}
