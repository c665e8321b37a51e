// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo is `make demo`: the story of Fairlead on a real control plane, in named steps, each
// of which is checked. It exits 0 only if all of them hold.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	flag.Parse()
	log.SetLogger(logr.Discard()) // of the client library; the operator's own goes to its file
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	if err := tell(ctx, *root); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("\nall %d steps hold, in %.1f s\n", len(story), time.Since(began).Seconds())
}

// environment is what the steps use.
type environment struct {
	*framework.Cluster
	leader *framework.Replica
}

// step is one part of the story: what it claims, and the proof.
type step struct {
	claim string
	prove func(context.Context, *environment) error
}

func tell(ctx context.Context, root string) (err error) {
	fmt.Println("a control plane of its own: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and a simulated node")
	fmt.Println("the operator is test/cmd/operator: fairlead, except that its connections to addresses outside the cluster end at servers of this demo")
	servers, err := externalnet.Open() //nolint:contextcheck // it ends when it is closed, after all else
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	opened, err := framework.Open(ctx, framework.Options{Root: root, Servers: servers, Output: os.Stderr, Cluster: cluster.Options{Nodes: 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	s := &environment{Cluster: opened}
	for i, part := range story {
		fmt.Printf("\n%d. %s\n", i+1, part.claim)
		began := time.Now()
		if err := part.prove(ctx, s); err != nil {
			return fmt.Errorf("step %d, %q: %w", i+1, part.claim, err)
		}
		fmt.Printf("   holds (%.1f s)\n", time.Since(began).Seconds())
	}
	return nil
}

// replica starts one more replica of the operator.
func (e *environment) replica(ctx context.Context) (*framework.Replica, error) {
	return e.StartReplica(ctx)
}

// show prints what a reader should see of a step.
func show(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Printf("   | %s\n", strings.TrimRight(line, "\n"))
	}
}

// kubectl runs kubectl, shows the call and what it says, and returns its output and its warnings or
// complaint. A refusal is no error of the call.
func (e *environment) kubectl(ctx context.Context, manifest string, args ...string) (out, said string, err error) {
	var stdout, stderr strings.Builder
	err = e.KubectlIO(ctx, strings.NewReader(manifest), &stdout, &stderr, args...)
	shown := "$ kubectl"
	for _, arg := range args {
		if strings.ContainsAny(arg, ` "*?{}`) {
			arg = "'" + arg + "'"
		}
		shown += " " + arg
	}
	show(shown + "\n" + stdout.String() + stderr.String())
	return stdout.String(), stderr.String(), err
}

// calls runs kubectl for each list of arguments in turn, until one is refused.
func (e *environment) calls(ctx context.Context, calls ...[]string) error {
	for _, args := range calls {
		if _, said, err := e.kubectl(ctx, "", args...); err != nil {
			return errors.New(said)
		}
	}
	return nil
}

// apply applies manifests in turn, until one is refused.
func (e *environment) apply(ctx context.Context, manifests ...string) error {
	for _, manifest := range manifests {
		if _, said, err := e.kubectl(ctx, manifest, "apply", "-f", "-"); err != nil {
			return errors.New(said)
		}
	}
	return nil
}

// events shows the events of the objects of a name, and fails unless they have the wanted reasons.
func (e *environment) events(ctx context.Context, name string, reasons ...string) error {
	out, err := e.Kubectl(ctx, "get", "events", "-n", "default", "--field-selector=involvedObject.name="+name,
		"-o", `jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}`)
	if err != nil {
		return err
	}
	if err := expect(out, reasons...); err != nil {
		return err
	}
	show(out)
	return nil
}

// expect fails unless text holds every one of the wanted pieces.
func expect(text string, wanted ...string) error {
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			return fmt.Errorf("expected %q in:\n%s", w, text)
		}
	}
	return nil
}
