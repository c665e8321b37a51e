// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fairlead-dev/fairlead/controllers/migration"
)

// definitions are those of the operator's own kinds.
func definitions() []string {
	return []string{
		"chaospods.chaos.fairlead.dev", "externalservices.networking.fairlead.dev", "rebootpolicies.autoreboot.fairlead.dev",
	}
}

// troubled is how long after a conversion has failed no objects are rewritten that may need one.
const troubled = time.Minute

// conversions remembers when one failed on this replica.
type conversions struct{ failed atomic.Int64 }

// Failed is told of each that fails. It never blocks.
func (c *conversions) Failed() { c.failed.Store(time.Now().UnixNano()) }

// healthy is nil where none has failed for a while.
func (c *conversions) healthy() error {
	at := c.failed.Load()
	if since := time.Since(time.Unix(0, at)); at != 0 && since < troubled {
		return fmt.Errorf("a conversion failed %s ago: the log names the object", since.Round(time.Second))
	}
	return nil
}

// migrator rewrites what is stored at an old version, as long as this replica leads.
func (i *incumbent) migrator() (reconciler, error) {
	api := i.limited()
	crds, err := apiextensionsclient.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	objects, err := metadata.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	migrations, err := dynamic.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	made, err := migration.New(migration.Options{
		Definitions: crds.CustomResourceDefinitions(), Objects: objects, Migrations: migrations, Names: definitions(),
		Rate: i.config.StorageMigration.Rate, Healthy: i.conversions.healthy,
		Events: i.cluster.GetEventRecorder(migration.Name),
		Logger: i.Logger.WithName("storage-migration"), Registerer: i.metrics,
	})
	if err != nil {
		return reconciler{}, err
	}
	i.recorder.Tell("storage migration", made.Status)
	return reconciler{name: migration.Name, warm: func(context.Context) error { return nil }, start: made.Run}, nil
}
