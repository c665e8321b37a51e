// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/fairlead-dev/fairlead/internal/leaderelection"
)

// Margin is what must be left between the death of the command and the end of the Lease, for a
// machine that is slow to kill.
const Margin = time.Second

// forever is longer than any command: only its death ends the term.
const forever = 100 * 365 * 24 * time.Hour

// Options configure a Guard.
type Options struct {
	// Leases is the client, as for election.Options.
	Leases coordinationv1client.LeasesGetter
	// Namespace and Name are those of the Lease. It is created where it does not exist.
	Namespace, Name string
	// Identity names this process among the candidates.
	Identity string

	// LeaseDuration, RenewDeadline and RetryPeriod are those of election.Options.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Grace is how long the command may take to end after SIGTERM where the Lease is lost. With
	// RenewDeadline it must stay below LeaseDuration by Margin. 0 means SIGKILL without SIGTERM.
	Grace time.Duration
	// Demote makes the guard a candidate again after a lost Lease. The default is to end.
	Demote bool

	// Command is the command and its arguments.
	Command []string
	// Aide is a command line that calls Aide with the arguments that are added to it: this very
	// program, as a rule. Empty means none: then what stops or kills this process must also end the
	// command.
	Aide []string
	// Stdin, Stdout and Stderr are passed to the command. Nil means the null device.
	Stdin, Stdout, Stderr *os.File

	// Signals are passed on to the command, and those that ask to end also end the wait for the
	// Lease. See Notify. Nil means none.
	Signals <-chan os.Signal
	// Logger gets a line for each transition.
	Logger logr.Logger
}

// validated returns an elector for the options.
func (o Options) validated(leases coordinationv1client.LeasesGetter) (*leaderelection.Elector, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, errors.New("no command")
	}
	elector, err := leaderelection.New(leaderelection.Options{
		Leases: leases, Namespace: o.Namespace, Name: o.Name, Identity: o.Identity,
		LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
		DrainTimeout: forever, LossTimeout: forever, Work: "the command", Logger: o.Logger,
	})
	switch {
	case err != nil:
		return nil, err
	case o.Grace < 0:
		return nil, fmt.Errorf("grace %s must not be below 0", o.Grace)
	case o.RenewDeadline+o.Grace+Margin > o.LeaseDuration:
		return nil, fmt.Errorf("renew deadline %s, grace %s and a margin of %s exceed the lease duration, %s: the command could outlive the Lease; choose a grace of at most %s, or a longer lease",
			o.RenewDeadline, o.Grace, Margin, o.LeaseDuration, max(0, o.LeaseDuration-o.RenewDeadline-Margin))
	}
	return elector, nil
}
