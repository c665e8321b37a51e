// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
)

// The test binary is also the processes that the tests start: signals, stops and deaths of this one
// would end the tests.
func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case "elect":
		os.Exit(elect(os.Args[2:]))
	case "aide":
		code, err := Aide(os.Args[2:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	case "alone":
		os.Exit(alone(os.Args[2]))
	default:
		// As under nohup, and in the background of a shell: what is caught here has its default action in new processes.
		for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
			if signal.Ignored(s) {
				signal.Notify(make(chan os.Signal, 1), s)
			}
		}
		_ = flag.Set("test.parallel", "16") // they wait for Leases to run out, most of the time
		os.Exit(m.Run())
	}
}

func elect(args []string) int {
	var o Options
	flags := flag.NewFlagSet("elect", flag.ExitOnError)
	server := flags.String("server", "", "")
	watched := flags.Bool("watched", true, "")
	flags.StringVar(&o.Identity, "id", "a", "")
	flags.DurationVar(&o.LeaseDuration, "lease", lease, "")
	flags.DurationVar(&o.RenewDeadline, "renew", renewal, "")
	flags.DurationVar(&o.RetryPeriod, "retry", 400*time.Millisecond, "")
	flags.DurationVar(&o.Grace, "grace", deadline-renewal, "")
	flags.BoolVar(&o.Demote, "demote", false, "")
	if err := flags.Parse(args); err != nil {
		return 1
	}
	client, err := coordinationv1client.NewForConfig(&rest.Config{Host: *server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if *watched {
		o.Aide = []string{os.Args[0], "aide"}
	}
	signals, stop := Notify()
	defer stop()
	o.Leases, o.Namespace, o.Name, o.Command, o.Signals = client, "default", "turn", flags.Args(), signals
	o.Stdin, o.Stdout, o.Stderr = os.Stdin, os.Stdout, os.Stderr
	o.Logger = logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
	g, err := New(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return Code(err)
	}
	code, err := g.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// alone is a command that must not run twice. It says so, or that it runs, in a file that all share,
// and stays until it is killed.
func alone(path string) int {
	signal.Ignore(syscall.SIGTERM)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_, _ = fmt.Fprintln(file, "twice")
		return 1
	}
	_, _ = fmt.Fprintln(file, "runs", os.Getppid())
	select {}
}
