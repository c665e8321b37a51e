// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command stock is what one writes with controller-runtime and its defaults: a manager with a webhook
// server, a leader election and one controller that reconciles nothing. The benchmark of starts and
// handovers measures the operator beside it.
//
// It writes the lines that the operator writes for FAIRLEAD_RECONCILE_LOG to the same file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// options are the flags.
type options struct {
	kubeconfig, id, namespace, certs string
	port                             int
	release                          bool
}

func main() {
	var o options
	// Of its own: controller-runtime claims --kubeconfig on the common one.
	flags := flag.NewFlagSet("stock", flag.ExitOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	flags.StringVar(&o.id, "id", "", "name of this process in the log")
	flags.StringVar(&o.namespace, "namespace", "", "namespace of the Lease")
	flags.StringVar(&o.certs, "cert-dir", "", "folder with tls.crt and tls.key")
	flags.IntVar(&o.port, "webhook-port", 9443, "port of the webhook server")
	flags.BoolVar(&o.release, "release", false, "release the Lease at the end, which is not the default")
	_ = flags.Parse(os.Args[1:]) // which ends the process itself
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		fmt.Fprintln(os.Stderr, "stock:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	log.SetLogger(logr.Discard())
	note, err := record(o.id)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := networkingv1.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:         scheme,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		WebhookServer:  webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: o.port, CertDir: o.certs}),
		LeaderElection: true, LeaderElectionID: "stock", LeaderElectionNamespace: o.namespace,
		LeaderElectionReleaseOnCancel: o.release,
	})
	if err != nil {
		return err
	}
	manager.GetWebhookServer().Register("/validate", &webhook.Admission{Handler: admission.HandlerFunc(
		func(context.Context, admission.Request) admission.Response { return admission.Allowed("") })})
	err = ctrl.NewControllerManagedBy(manager).For(&networkingv1.ExternalService{}).Complete(reconcile.Func(
		func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			note("begin", request)
			return reconcile.Result{}, nil
		}))
	if err != nil {
		return err
	}
	go func() {
		if manager.GetCache().WaitForCacheSync(ctx) {
			note("synced", reconcile.Request{})
		}
	}()
	return manager.Start(ctx)
}

// record opens the file, and returns what writes a line into it.
func record(id string) (func(event string, request reconcile.Request), error) {
	path := os.Getenv("FAIRLEAD_RECONCILE_LOG")
	if path == "" {
		return nil, errors.New("FAIRLEAD_RECONCILE_LOG names no file")
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the user who measures names it
	if err != nil {
		return nil, err
	}
	return func(event string, request reconcile.Request) {
		_, _ = fmt.Fprintf(file, `{"replica":%q,"event":%q,"kind":"ExternalService","namespace":%q,"name":%q,"at":%q}`+"\n",
			id, event, request.Namespace, request.Name, time.Now().Format(time.RFC3339Nano))
	}, nil
}
