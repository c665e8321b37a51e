// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// Margin is the time between the death of the command and the end of the Lease, for a machine that is slow
// to kill.
const Margin = time.Second

// forever is longer than any command runs: only its end ends the term.
const forever = 100 * 365 * 24 * time.Hour

// Options configure a Runner.
type Options struct {
	// Leases is the client, as for leaderelection.Options.
	Leases coordinationv1client.LeasesGetter
	// Namespace and Name are those of the Lease. It is created where it does not exist.
	Namespace, Name string
	// Identity names this process among the candidates.
	Identity string

	// LeaseDuration, RenewDeadline and RetryPeriod are those of leaderelection.Options.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Grace is how long the command may take to end after SIGTERM where the Lease is lost. With
	// RenewDeadline it must stay below LeaseDuration by Margin. 0 means SIGKILL without SIGTERM.
	Grace time.Duration

	// Command is the command and its arguments. It has the standard streams of this process.
	Command []string
	// Guard is a command line that calls GuardMain with the arguments that are added to it, usually this program.
	Guard []string

	// Logger gets a line for each transition.
	Logger logr.Logger
}

// validate names the durations that do not fit each other. client-go's elector checks the others.
func (o Options) validate() error {
	problems := slices.Concat(validation.IsDNS1123Subdomain(o.Name), validation.IsDNS1123Label(o.Namespace))
	switch longest := o.LeaseDuration - o.RenewDeadline - Margin; {
	case len(problems) > 0:
		return fmt.Errorf("name or namespace of the Lease %s/%s: %s", o.Namespace, o.Name, strings.Join(problems, "; "))
	case len(o.Command) == 0 || o.Command[0] == "":
		return errors.New("no command")
	case o.Grace < 0:
		return fmt.Errorf("grace %s must not be below 0", o.Grace)
	case o.Grace > longest:
		return fmt.Errorf("renew deadline %s, grace %s and a margin of %s exceed the lease duration, %s: the command could outlive the Lease; choose a grace of at most %s, or a longer lease",
			o.RenewDeadline, o.Grace, Margin, o.LeaseDuration, max(0, longest))
	}
	return nil
}

// Exit codes other than the command's, as of timeout(1), env(1) and nohup(1).
const (
	// CodeLost: the Lease was lost, and the command was ended.
	CodeLost = 124
	// CodeFailed: elect itself failed, or was used wrongly.
	CodeFailed = 125
	// CodeNotExecutable: the command was found and could not be started.
	CodeNotExecutable = 126
	// CodeNotFound: there is no such command.
	CodeNotFound = 127
	// codeSignal is added to the number of a signal that ended the command, or the wait for the Lease.
	codeSignal = 128
)

// startError is the error of a command that cannot be started.
type startError struct{ error }

func (e startError) Unwrap() error { return e.error }

// Code returns the exit code for an error of New: that of a shell where the command is the cause.
func Code(err error) int {
	switch {
	case !errors.As(err, &startError{}):
		return CodeFailed
	case errors.Is(err, os.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return CodeNotFound
	default:
		return CodeNotExecutable
	}
}

// The environment of the command, in addition to that of this process.
const (
	// EnvNamespace, EnvName and EnvHolder are those of its Lease.
	EnvNamespace = "FAIRLEAD_LEASE_NAMESPACE"
	EnvName      = "FAIRLEAD_LEASE_NAME"
	EnvHolder    = "FAIRLEAD_LEASE_HOLDER"
	// EnvTransitions is the Lease's spec.leaseTransitions. It restarts at 0 where the Lease is deleted.
	EnvTransitions = "FAIRLEAD_LEASE_TRANSITIONS"
	// EnvToken is the fencing token: the resourceVersion of the last write of the Lease by this candidate
	// before the command was started. It is a decimal number of 64 bits, larger than that of every earlier
	// command under the Lease, also where the Lease was deleted in between.
	EnvToken = "FAIRLEAD_FENCING_TOKEN"
)

// environment returns the environment of a command that runs under a Lease.
func environment(lease *coordinationv1.Lease) []string {
	return append(os.Environ(),
		EnvNamespace+"="+lease.Namespace, EnvName+"="+lease.Name,
		EnvHolder+"="+ptr.Deref(lease.Spec.HolderIdentity, ""),
		EnvTransitions+"="+strconv.Itoa(int(ptr.Deref(lease.Spec.LeaseTransitions, 0))),
		EnvToken+"="+lease.ResourceVersion)
}
