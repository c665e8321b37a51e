// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry tries a packed chart in a registry.
package registry

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	helmregistry "helm.sh/helm/v4/pkg/registry"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
)

// Publish pushes a packed chart to a registry on loopback as `make push` does, pulls it as Helm does, by its version, and as
// Flux does, by its digest and the media type of its layer, and renders both. It returns the digest of the chart's manifest,
// which is the same in each registry, and an error where an image of the rendered objects is not the given one.
func Publish(archive, image string) (digest string, err error) {
	work, err := os.MkdirTemp("", "fairlead-registry-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	server := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	published, err := loader.Load(archive)
	if err != nil {
		return "", err
	}
	at := trial{work: work, host: strings.TrimPrefix(server.URL, "http://"), version: published.Metadata.Version}
	if at.client, err = helmregistry.NewClient(helmregistry.ClientOptPlainHTTP(), helmregistry.ClientOptWriter(io.Discard),
		helmregistry.ClientOptCredentialsFile(filepath.Join(work, "none.json"))); err != nil {
		return "", err
	}
	if digest, err = at.push(archive); err != nil {
		return "", fmt.Errorf("push the chart: %w", err)
	}
	byVersion, err := at.pull()
	if err != nil {
		return "", fmt.Errorf("pull the chart by its version: %w", err)
	}
	byDigest, err := at.layer(digest)
	if err != nil {
		return "", fmt.Errorf("pull the chart by its digest: %w", err)
	}
	return digest, errors.Join(hasImage(byVersion, image), hasImage(byDigest, image))
}

// trial is one chart in a registry.
type trial struct {
	work, host, version string
	client              *helmregistry.Client
}

func (t trial) repository() string { return t.host + "/fairlead-dev/charts" }

func (t trial) configuration() (*action.Configuration, *cli.EnvSettings) {
	configuration, settings := action.NewConfiguration(), cli.New()
	configuration.RegistryClient = t.client
	settings.ContentCache, settings.RepositoryCache = filepath.Join(t.work, "content"), filepath.Join(t.work, "repository")
	return configuration, settings
}

func (t trial) push(archive string) (string, error) {
	configuration, settings := t.configuration()
	push := action.NewPushWithOpts(action.WithPushConfig(configuration), action.WithPlainHTTP(true), action.WithPushOptWriter(io.Discard))
	push.Settings = settings
	if _, err := push.Run(archive, "oci://"+t.repository()); err != nil {
		return "", err
	}
	reference, err := name.ParseReference(t.repository() + "/fairlead:" + t.version)
	if err != nil {
		return "", err
	}
	manifest, err := remote.Head(reference)
	if err != nil {
		return "", err
	}
	return manifest.Digest.String(), nil
}

// pull is `helm pull`.
func (t trial) pull() (*chartv2.Chart, error) {
	configuration, settings := t.configuration()
	pull := action.NewPull(action.WithConfig(configuration))
	pull.Settings, pull.DestDir, pull.PlainHTTP, pull.Version = settings, t.work, true, t.version
	if _, err := pull.Run("oci://" + t.repository() + "/fairlead"); err != nil {
		return nil, err
	}
	return loader.Load(filepath.Join(t.work, "fairlead-"+t.version+".tgz"))
}

// layer returns the chart in the layer of a manifest, by which an OCIRepository of Flux selects it.
func (t trial) layer(digest string) (*chartv2.Chart, error) {
	reference, err := name.NewDigest(t.repository() + "/fairlead@" + digest)
	if err != nil {
		return nil, err
	}
	artifact, err := remote.Image(reference)
	if err != nil {
		return nil, err
	}
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 1 {
		return nil, errors.Join(fmt.Errorf("%d layers, want 1", len(layers)), err)
	}
	if of, err := layers[0].MediaType(); err != nil || of != helmregistry.ChartLayerMediaType {
		return nil, errors.Join(fmt.Errorf("a layer of type %s, want %s", of, helmregistry.ChartLayerMediaType), err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	return loader.LoadArchive(content)
}

// hasImage returns an error unless each container of the rendered chart has the image.
func hasImage(chart *chartv2.Chart, image string) error {
	version, err := common.ParseKubeVersion("v1.37.0")
	if err != nil {
		return err
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace, install.KubeVersion = action.DryRunClient, "fairlead", "fairlead-system", version
	made, err := install.Run(chart, nil)
	if err != nil {
		return err
	}
	release, ok := made.(*releasev1.Release)
	if !ok {
		return fmt.Errorf("a release of %T", made)
	}
	found := 0
	for line := range strings.Lines(release.Manifest) {
		of, is := strings.CutPrefix(strings.TrimLeft(line, " -"), "image: ")
		if !is {
			continue
		}
		found++
		if of = strings.Trim(strings.TrimSpace(of), `"`); of != image {
			return fmt.Errorf("a container of the chart has the image %s, want %s", of, image)
		}
	}
	if found == 0 {
		return errors.New("no container of the chart has an image")
	}
	return nil
}
